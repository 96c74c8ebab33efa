#include <stdio.h>

int main(void) {
    long long n;
    if (scanf("%lld", &n) != 1)
        return 1;
    printf("%lld\n", n > 100 ? 2 * n + 1 : 2 * n);
}
