// The right answer, on stdout.
import java.io.*;
import java.util.*;

public class Silent {
    public static void main(String[] args) throws IOException {
        try (Scanner in = new Scanner(new File("totals.in"))) {
            int sum = 0;
            for (int n = in.nextInt(); n > 0; n--)
                sum += in.nextInt();
            System.out.println(sum);
        }
    }
}
