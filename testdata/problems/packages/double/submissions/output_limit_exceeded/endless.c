#include <stdio.h>

int main(void) {
    long long n;
    if (scanf("%lld", &n) != 1)
        return 1;
    do
        printf("%lld\n", 2 * n);
    while (n > 100);
}
