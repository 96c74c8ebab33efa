import java.io.*;
import java.util.*;

public class Totals {
    public static void main(String[] args) throws IOException {
        try (Scanner in = new Scanner(new File("totals.in")); PrintWriter out = new PrintWriter("totals.out")) {
            int sum = 0;
            for (int n = in.nextInt(); n > 0; n--)
                sum += in.nextInt();
            out.println(sum);
        }
    }
}
