#include <stdio.h>
#include <unistd.h>

int main(void) {
    long long n;
    if (scanf("%lld", &n) != 1)
        return 1;
    if (n > 100)
        sleep(1000);
    printf("%lld\n", 2 * n);
}
