#include <iostream>
#include <stdexcept>

int main() {
    long long n;
    std::cin >> n;
    if (n > 100)
        throw std::out_of_range("n");
    std::cout << 2 * n << "\n";
}
