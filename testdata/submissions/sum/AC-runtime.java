// Proves that a Java virtual machine with several threads works and collects its garbage: 400 MiB go through a heap of 64.
import java.io.*;
import java.util.*;
import java.util.concurrent.*;

public class Main {
	public static void main(String[] args) throws Exception {
		StreamTokenizer in = new StreamTokenizer(new BufferedReader(new InputStreamReader(System.in)));
		in.nextToken();
		int n = (int) in.nval;
		long[] numbers = new long[n];
		for (int i = 0; i < n; i++) {
			in.nextToken();
			numbers[i] = (long) in.nval;
		}
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Long>> shares = new ArrayList<>();
		for (int t = 0; t < 4; t++) {
			final int first = t;
			shares.add(pool.submit(() -> {
				long sum = 0;
				byte[] garbage = null;
				for (int i = 0; i < 100; i++) {
					garbage = new byte[1 << 20];
					garbage[i] = 1;
				}
				for (int i = first; i < n; i += 4)
					sum += numbers[i];
				return sum + garbage[0];
			}));
		}
		long total = 0;
		for (Future<Long> share : shares)
			total += share.get();
		pool.shutdown();
		System.out.println(total);
	}
}
