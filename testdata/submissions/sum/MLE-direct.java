// Proves that memory outside the heap, which -Xmx does not bound, is memory of the run.
import java.nio.ByteBuffer;
import java.util.*;

public class Main {
	public static void main(String[] args) {
		Scanner in = new Scanner(System.in);
		long sum = 0;
		for (long n = in.nextLong(); n > 0; n--)
			sum += in.nextLong();
		List<ByteBuffer> blocks = new ArrayList<>();
		for (int i = 0; i < 512; i++) {
			ByteBuffer b = ByteBuffer.allocateDirect(1 << 20);
			for (int at = 0; at < b.capacity(); at += 4096)
				b.put(at, (byte) 1);
			blocks.add(b);
		}
		System.out.println(sum + blocks.size() - 512);
	}
}
