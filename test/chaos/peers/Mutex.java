// Mutex.java - a process that works under Curator's InterProcessMutex; see stamp.py.
//
//     Mutex CONNECT FILE WHO SECONDS [listener]
//
// With "listener" it stops when the connection is SUSPENDED or LOST, as Curator's documentation asks.
import java.io.File;
import java.io.FileOutputStream;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;

public final class Mutex {
    private static FileOutputStream file;
    private static String who;

    private static void add(String event, String more) throws Exception {
        String line = String.format("{\"t\": %d, \"who\": \"%s\", \"n\": 1, \"e\": \"%s\"%s}%n",
                                    System.nanoTime(), who, event, more);
        file.write(line.getBytes());
    }

    public static void main(String[] args) throws Exception {
        file = new FileOutputStream(args[1], true);
        who = args[2];
        double seconds = Double.parseDouble(args[3]);
        boolean listens = args.length > 4;
        AtomicBoolean stop = new AtomicBoolean();
        CuratorFramework client = CuratorFrameworkFactory.newClient(
            args[0], Integer.getInteger("session"), 15000, new RetryOneTime(100));
        client.getConnectionStateListenable().addListener((unused, state) -> {
            if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST)
                stop.set(listens);
        });
        client.start();
        InterProcessMutex mutex = new InterProcessMutex(client, "/" + new File(args[1]).getParentFile().getName());
        add("want", ", \"lock\": \"a\", \"weight\": 1, \"capacity\": 1");
        mutex.acquire();
        add("grant", ", \"token\": null, \"requeued\": false, \"deadline\": " + Long.MAX_VALUE);
        long end = System.nanoTime() + (long) (seconds * 1e9);
        while (System.nanoTime() < end && !stop.get()) {
            add("last", ", \"last\": " + System.nanoTime() + ", \"deadline\": " + Long.MAX_VALUE);
            Thread.sleep(10);
        }
        add("release", ", \"begun\": " + System.nanoTime() + ", \"result\": \"0\"");
        System.exit(0);
    }
}
