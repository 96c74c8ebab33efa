// Proves that a virtual machine is limited like any program, all its threads together.
public class Main {
	static volatile long n;

	public static void main(String[] args) {
		for (int t = 0; t < 2; t++)
			new Thread(() -> { for (;;) n++; }).start();
	}
}
