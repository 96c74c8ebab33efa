#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { step = 1 << 20 };

int main(void) {
    long long n;
    if (scanf("%lld", &n) != 1)
        return 1;
    while (n > 100)
        memset(malloc(step), 1, step);
    printf("%lld\n", 2 * n);
}
