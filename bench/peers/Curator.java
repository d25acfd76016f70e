// Curator.java - the scenarios with Curator's locks; see bench/scene.h.
//
//     Curator CONNECT
//     Curator CONNECT first      acquire one lock, print "held MICROSECONDS", and exit
//
// Reads "SCENARIO SIZE" from stdin and answers "SCENARIO OPERATIONS SECONDS LEAST P50 P99";
// sessions and compiled code stay warm from one to the next.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;

public final class Curator {
    private static final int SESSION_MS = 30000;
    private static final int READ_PERCENT = 90;

    /** One operation of a thread. */
    private interface Turn {
        void take() throws Exception;
    }

    private final String connect;
    private final List<CuratorFramework> sessions = new ArrayList<>();
    private final List<Double> took = new ArrayList<>(); // microseconds, of one
    private final AtomicInteger holders = new AtomicInteger();
    private volatile long released; // when the last release began
    private double passed; // seconds of S8, or 0
    private long least; // turns of the thread with the fewest
    private BufferedReader in;

    private Curator(String connect) {
        this.connect = connect;
    }

    private CuratorFramework session(int number) throws Exception {
        while (sessions.size() <= number) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(
                connect, SESSION_MS, SESSION_MS, new RetryOneTime(100));
            client.start();
            client.blockUntilConnected();
            sessions.add(client);
        }
        return sessions.get(number);
    }

    private void took(long nanos) {
        synchronized (took) {
            took.add(nanos / 1e3);
        }
    }

    private Turn turn(InterProcessLock lock) {
        return () -> {
            long since = System.nanoTime();
            lock.acquire();
            lock.release();
            took(System.nanoTime() - since);
        };
    }

    /** Checks that it is alone, and measures the time since the last release. */
    private Turn contended(InterProcessLock lock, double holdMs) {
        return () -> {
            long since = System.nanoTime();
            lock.acquire();
            if (holders.incrementAndGet() != 1)
                throw new IllegalStateException("exclusion failed");
            if (released > since)
                took(System.nanoTime() - released);
            if (holdMs > 0)
                TimeUnit.MICROSECONDS.sleep((long) (holdMs * 1000));
            holders.decrementAndGet();
            released = System.nanoTime();
            lock.release();
        };
    }

    private Turn readOrWrite(int number) throws Exception {
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(session(number), "/s5");
        Turn read = turn(both.readLock()), write = turn(both.writeLock());
        return () -> {
            boolean reads = ThreadLocalRandom.current().nextInt(100) < READ_PERCENT;
            (reads ? read : write).take();
        };
    }

    private static Thread thread(Turn turn) {
        Thread thread = new Thread(() -> {
            try {
                turn.take();
            } catch (Exception error) {
                error.printStackTrace();
                System.exit(1);
            }
        });
        thread.start();
        return thread;
    }

    /** Repeats each turn in a separate thread until the time is over. */
    private long repeat(List<Turn> turns, double seconds) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        LongAdder total = new LongAdder();
        List<Long> counts = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        long end = System.nanoTime() + (long) (seconds * 1e9);

        for (Turn turn : turns)
            threads.add(thread(() -> {
                long count = 0;
                go.await();
                for (; count == 0 || System.nanoTime() < end; count++)
                    turn.take();
                total.add(count);
                counts.add(count);
            }));
        go.countDown();
        for (Thread each : threads)
            each.join();
        least = Collections.min(counts);
        return total.sum();
    }

    /** A queue of waiters behind one holder, until the last has had its turn. */
    private long crowd(int waiters, boolean idle) throws Exception {
        CuratorFramework client = session(0);
        InterProcessMutex first = new InterProcessMutex(client, "/s4");
        List<Thread> threads = new ArrayList<>();

        first.acquire();
        for (int i = 0; i < waiters; i++)
            threads.add(thread(turn(new InterProcessMutex(client, "/s4"))));
        while (client.checkExists().forPath("/s4").getNumChildren() <= waiters)
            TimeUnit.MILLISECONDS.sleep(1);
        if (idle)
            mark();
        first.release();
        for (Thread each : threads)
            each.join();
        return waiters;
    }

    /** So many hand-overs between two sessions; a holder queues again, behind all waiters. */
    private long pass(int waiters, int hands) throws Exception {
        List<Thread> threads = new ArrayList<>();
        AtomicInteger left = new AtomicInteger(hands);
        CountDownLatch done = new CountDownLatch(1);
        InterProcessMutex first = new InterProcessMutex(session(0), "/s8");

        first.acquire();
        for (int i = 0; i < waiters; i++) {
            InterProcessMutex lock = new InterProcessMutex(session(i % 2), "/s8");
            threads.add(thread(() -> {
                while (left.get() > 0) {
                    lock.acquire();
                    if (holders.incrementAndGet() != 1)
                        throw new IllegalStateException("exclusion failed");
                    if (left.get() > 0)
                        took(System.nanoTime() - released);
                    if (left.decrementAndGet() == 0)
                        done.countDown();
                    holders.decrementAndGet();
                    released = System.nanoTime();
                    lock.release();
                }
            }));
        }
        while (session(0).checkExists().forPath("/s8").getNumChildren() <= waiters)
            TimeUnit.MILLISECONDS.sleep(1);
        mark();
        long start = released = System.nanoTime();
        first.release();
        done.await();
        passed = (System.nanoTime() - start) / 1e9;
        mark();
        for (Thread each : threads)
            each.join();
        return hands;
    }

    private void mark() throws Exception {
        System.out.println("mark");
        in.readLine();
    }

    private Turn seat(String kind, int number, double holdMs) throws Exception {
        return switch (kind) {
        case "S1" -> turn(new InterProcessMutex(session(0), "/s1"));
        case "S2" -> turn(new InterProcessMutex(session(0), "/s2-" + number));
        case "S3" -> contended(new InterProcessMutex(session(number), "/s3"), holdMs);
        case "S5" -> readOrWrite(number);
        case "S9" -> turn(new InterProcessMutex(session(number), "/s9-" + number));
        default -> throw new IllegalArgumentException(kind);
        };
    }

    private long scenario(String name, double size) throws Exception {
        String[] part = name.split("[:@]");
        int count = part.length > 1 ? Integer.parseInt(part[1]) : 1;
        double holdMs = part.length > 2 ? Double.parseDouble(part[2]) : 0;
        List<Turn> turns = new ArrayList<>();

        if (part[0].equals("S4") || part[0].equals("S7"))
            return crowd(count, part[0].equals("S7"));
        if (part[0].equals("S8"))
            return pass(count, (int) size);
        for (int i = 0; i < count; i++)
            turns.add(seat(part[0], i, holdMs));
        return repeat(turns, size);
    }

    private double percentile(double p) {
        return took.isEmpty() ? 0 : took.get((int) ((took.size() - 1) * p));
    }

    private void serve() throws Exception {
        String line;

        while ((line = in.readLine()) != null) {
            String[] word = line.split(" ");
            took.clear();
            least = 0;
            passed = 0;
            long start = System.nanoTime();
            long count = scenario(word[0], Double.parseDouble(word[1]));
            double seconds = passed > 0 ? passed : (System.nanoTime() - start) / 1e9;
            Collections.sort(took);
            System.out.println(word[0] + " " + count + " " + seconds + " " + least + " "
                + percentile(0.5) + " " + percentile(0.99));
            System.out.flush();
        }
    }

    private void first() throws Exception {
        InterProcessMutex lock = new InterProcessMutex(session(0), "/s6");
        lock.acquire();
        System.out.println("held " + System.nanoTime() / 1000);
        lock.release();
    }

    public static void main(String[] args) throws Exception {
        Curator bench = new Curator(args[0]);

        bench.in = new BufferedReader(new InputStreamReader(System.in));
        if (args.length > 1)
            bench.first();
        else
            bench.serve();
        for (CuratorFramework each : bench.sessions)
            each.close();
    }
}
