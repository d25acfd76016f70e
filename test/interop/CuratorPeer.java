// CuratorPeer.java - a Java process that uses Curator's locks, driven by the interop
// tests.
//
//     CuratorPeer MODE CONNECT PATH [ARGUMENT...]
//
//     turns TOTAL FILE      take turns with others: add one to the number in FILE until it
//                           is TOTAL.  The file has no lock of its own
//     rw ROUNDS FILE PERCENT   read, or in PERCENT of the rounds change, two numbers in
//                           FILE that must always be equal
//     hold, holdread, holdwrite, holdrevocable   acquire, keep until stdin ends, release
//     try, tryread, trywrite   exit 0 if the lock was free, else 1
//     revoke                ask the first in line to give it up
//
// Events are lines on stdout.  turns and rw print "ready" and begin when stdin has a line.
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.utils.ZKPaths;

public final class CuratorPeer {
    private static final int SESSION_MS = Integer.getInteger("session", 4000);

    private static void say(String text) {
        System.out.println(text);
        System.out.flush();
    }

    private static void pause() throws InterruptedException {
        TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(1000));
    }

    private static void start() throws IOException {
        say("ready");
        if (System.in.read() < 0)
            System.exit(1);
    }

    private static long get(RandomAccessFile file, long at) throws IOException {
        file.seek(at);
        return Long.parseLong(file.readLine().trim());
    }

    private static void put(RandomAccessFile file, long at, long value) throws IOException {
        file.seek(at);
        file.write(String.format("%019d\n", value).getBytes());
    }

    private static void turns(InterProcessLock lock, long total, String path) throws Exception {
        int mine = 0;
        start();
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            for (boolean more = true; more; mine += more ? 1 : 0) {
                lock.acquire();
                long value = get(file, 0);
                more = value < total;
                if (more) {
                    pause();
                    put(file, 0, value + 1);
                }
                lock.release();
            }
        }
        say("turns " + mine);
    }

    private static void rw(InterProcessReadWriteLock lock, int rounds, String path, int percent)
            throws Exception {
        int writes = 0;
        start();
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            for (int i = 0; i < rounds; i++) {
                boolean write = ThreadLocalRandom.current().nextInt(100) < percent;
                InterProcessLock side = write ? lock.writeLock() : lock.readLock();
                side.acquire();
                long first = get(file, 0);
                if (write)
                    put(file, 0, first + 1);
                pause();
                if (get(file, 20) != first)
                    say("torn");
                if (write)
                    put(file, 20, first + 1);
                side.release();
                writes += write ? 1 : 0;
            }
        }
        say("writes " + writes);
    }

    private static void hold(InterProcessLock lock) throws Exception {
        lock.acquire();
        say("held");
        while (System.in.read() >= 0)
            ;
        lock.release();
        say("released");
    }

    private static int attempt(InterProcessLock lock) throws Exception {
        boolean got = lock.acquire(0, TimeUnit.SECONDS);
        if (got)
            lock.release();
        return got ? 0 : 1;
    }

    private static void revoke(CuratorFramework client, String path) throws Exception {
        List<String> names = client.getChildren().forPath(path);
        names.sort((a, b) -> a.substring(a.length() - 10).compareTo(b.substring(b.length() - 10)));
        Revoker.attemptRevoke(client, ZKPaths.makePath(path, names.get(0)));
    }

    private static int run(CuratorFramework client, String[] args) throws Exception {
        String mode = args[0], path = args[2];
        InterProcessMutex mutex = new InterProcessMutex(client, path);
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);

        switch (mode) {
        case "turns" -> turns(mutex, Long.parseLong(args[3]), args[4]);
        case "rw" -> rw(both, Integer.parseInt(args[3]), args[4], Integer.parseInt(args[5]));
        case "hold" -> hold(mutex);
        case "holdread" -> hold(both.readLock());
        case "holdwrite" -> hold(both.writeLock());
        case "holdrevocable" -> {
            mutex.makeRevocable(asked -> say("asked"));
            hold(mutex);
        }
        case "try" -> {
            return attempt(mutex);
        }
        case "tryread" -> {
            return attempt(both.readLock());
        }
        case "trywrite" -> {
            return attempt(both.writeLock());
        }
        case "revoke" -> revoke(client, path);
        default -> throw new IllegalArgumentException(mode);
        }
        return 0;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
            args[1], SESSION_MS, SESSION_MS, new RetryOneTime(100));
        client.start();
        int status = run(client, args);
        client.close();
        System.exit(status);
    }
}
