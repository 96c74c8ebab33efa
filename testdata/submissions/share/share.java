/* Does 600 ms of work in the way that its argument names, as share.c does. Its main thread is never the first one. */
import java.lang.management.ManagementFactory;

public class Main {
    static void work(long ms) {
        long until = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() + ms * 1_000_000;
        while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < until) { }
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("first"))
            work(600);
        else {
            Thread[] all = new Thread[4];
            for (int i = 0; i < 4; i++)
                (all[i] = new Thread(() -> work(150))).start();
            for (Thread t : all)
                t.join();
        }
        System.out.println("ok");
    }
}
