#include <stdio.h>

int main(void) {
    volatile long long n;
    if (scanf("%lld", &n) != 1)
        return 1;
    while (n > 100)
        ;
    printf("%lld\n", 2 * n);
}
