import java.io.*;
import java.util.*;

// Leaves out negative numbers.
public class Negative {
    public static void main(String[] args) throws IOException {
        try (Scanner in = new Scanner(new File("totals.in")); PrintWriter out = new PrintWriter("totals.out")) {
            int sum = 0;
            for (int n = in.nextInt(); n > 0; n--)
                sum += Math.max(0, in.nextInt());
            out.println(sum);
        }
    }
}
