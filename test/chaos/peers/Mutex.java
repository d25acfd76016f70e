// Mutex.java - a process that works under Curator's InterProcessMutex; see stamp.py.
//
//     Mutex CONNECT FILE WHO [listener]
//
// With "listener" it stops when the connection is SUSPENDED or LOST, as Curator's documentation asks.
import java.io.File;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;

public final class Mutex {
    private static FileOutputStream file;
    private static String who;
    private static int elements;

    private static void add(String event, String more) throws Exception {
        String line = String.format("{\"t\": %d, \"who\": \"%s\", \"n\": 1, \"e\": \"%s\"%s}%n",
                                    System.nanoTime(), who, event, more);
        file.write(line.getBytes());
    }

    private static void act() throws Exception {
        add("last", ", \"last\": " + System.nanoTime() + ", \"deadline\": null");
    }

    // Read the set, pause, write it back with one element more.
    private static void change(Path set, AtomicBoolean stop) throws Exception {
        String text = Files.exists(set) ? Files.readString(set) : "";
        long pause = System.nanoTime() + (long) (Math.random() * 0.4e9);
        while (System.nanoTime() < pause) {
            act();
            Thread.sleep(10);
            if (stop.get())
                return;
        }
        String element = who + "/" + ++elements;
        Path fresh = set.resolveSibling("a.set." + who);
        Files.writeString(fresh, text + element + "\n");
        Files.move(fresh, set, StandardCopyOption.ATOMIC_MOVE);
        add("add", ", \"lock\": \"a\", \"element\": \"" + element + "\", \"fenced\": false, \"ok\": true");
        act();
    }

    public static void main(String[] args) throws Exception {
        file = new FileOutputStream(args[1], true);
        who = args[2];
        boolean listens = args.length > 3;
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
        add("grant", ", \"token\": null, \"requeued\": false, \"deadline\": null");
        Path over = Path.of(args[1]).resolveSibling(who + ".over");
        while (Files.notExists(over) && !stop.get())
            change(Path.of(args[1]).resolveSibling("a.set"), stop);
        add("release", ", \"begun\": null, \"result\": null");
        System.exit(0);
    }
}
