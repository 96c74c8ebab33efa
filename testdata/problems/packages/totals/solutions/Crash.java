public class Crash {
    public static void main(String[] args) {
        throw new IllegalStateException("totals");
    }
}
