// @EXPECTED_RESULTS@: TIMELIMIT
#include <iostream>

int main() {
    volatile long long zero = 0;
    long long n;
    std::cin >> n;
    while (n == zero)
        ;
    std::cout << 2 * n << "\n";
}
