// Proves that a heap bounded by -Xmx below the limit ends in an exception and exit code 1: the machine notices itself.
import java.util.*;

public class Main {
	public static void main(String[] args) {
		Scanner in = new Scanner(System.in);
		long sum = 0;
		for (long n = in.nextLong(); n > 0; n--)
			sum += in.nextLong();
		List<byte[]> blocks = new ArrayList<>();
		for (int i = 0; i < 512; i++)
			blocks.add(new byte[1 << 20]);
		System.out.println(sum + blocks.size() - 512);
	}
}
