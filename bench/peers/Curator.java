// Curator.java - the benchmark's scenarios with Curator's locks; see bench/zookeeper.py.
//
//     Curator CONNECT
//
// Reads "SCENARIO SIZE" from stdin and answers "SCENARIO OPERATIONS SECONDS"; sessions
// and compiled code stay warm from one to the next.  SIZE is in seconds, of S4 the number
// of waiters.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
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

    /** What one thread does again and again. */
    private interface Turn {
        void take() throws Exception;
    }

    private final String connect;
    private final List<CuratorFramework> sessions = new ArrayList<>();

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

    private static Turn turn(InterProcessLock lock) {
        return () -> {
            lock.acquire();
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

    /** Each turn again and again in a thread of its own until the time is over. */
    private static long repeat(List<Turn> turns, double seconds) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        LongAdder count = new LongAdder();
        List<Thread> threads = new ArrayList<>();
        long end = System.nanoTime() + (long) (seconds * 1e9);

        for (Turn turn : turns)
            threads.add(thread(() -> {
                go.await();
                while (System.nanoTime() < end) {
                    turn.take();
                    count.increment();
                }
            }));
        go.countDown();
        for (Thread each : threads)
            each.join();
        return count.sum();
    }

    /** A line of waiters behind one holder, until the last has had its turn. */
    private long drain(int waiters) throws Exception {
        CuratorFramework client = session(0);
        InterProcessMutex first = new InterProcessMutex(client, "/s4");
        List<Thread> threads = new ArrayList<>();

        first.acquire();
        for (int i = 0; i < waiters; i++)
            threads.add(thread(turn(new InterProcessMutex(client, "/s4"))));
        while (client.checkExists().forPath("/s4").getNumChildren() <= waiters)
            TimeUnit.MILLISECONDS.sleep(1);
        first.release();
        for (Thread each : threads)
            each.join();
        return waiters;
    }

    private long scenario(String name, double size) throws Exception {
        String[] part = name.split(":");
        int count = part.length > 1 ? Integer.parseInt(part[1]) : 1;
        List<Turn> turns = new ArrayList<>();

        if (part[0].equals("S4"))
            return drain((int) size);
        for (int i = 0; i < count; i++)
            switch (part[0]) {
            case "S1" -> turns.add(turn(new InterProcessMutex(session(0), "/s1")));
            case "S2" -> turns.add(turn(new InterProcessMutex(session(0), "/s2-" + i)));
            case "S3" -> turns.add(turn(new InterProcessMutex(session(i), "/s3")));
            case "S5" -> turns.add(readOrWrite(i));
            default -> throw new IllegalArgumentException(name);
            }
        return repeat(turns, size);
    }

    public static void main(String[] args) throws Exception {
        Curator bench = new Curator(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        String line;

        while ((line = in.readLine()) != null) {
            String[] word = line.split(" ");
            long start = System.nanoTime();
            long count = bench.scenario(word[0], Double.parseDouble(word[1]));
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.println(word[0] + " " + count + " " + seconds);
            System.out.flush();
        }
        for (CuratorFramework each : bench.sessions)
            each.close();
    }
}
