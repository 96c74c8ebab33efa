public class Loop {
    public static void main(String[] args) {
        for (;;)
            ;
    }
}
