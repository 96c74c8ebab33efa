/* Does as many ms of work as its second argument says, in the way that the first one names, as share.c does. Its main thread is never the first one. */
import java.lang.management.ManagementFactory;

public class Main {
    static void work(long ms) {
        long until = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() + ms * 1_000_000;
        while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < until) { }
    }

    public static void main(String[] args) throws Exception {
        long ms = Long.parseLong(args[1]);
        if (args[0].equals("first"))
            work(ms);
        else {
            Thread[] all = new Thread[4];
            for (int i = 0; i < 4; i++)
                (all[i] = new Thread(() -> work(ms / 4))).start();
            for (Thread t : all)
                t.join();
        }
        System.out.println("ok");
    }
}
