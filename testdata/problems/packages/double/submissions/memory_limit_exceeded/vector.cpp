#include <iostream>
#include <vector>

int main() {
    long long n;
    std::cin >> n;
    std::vector<std::vector<char>> all;
    while (n > 100)
        all.emplace_back(1 << 20, 'x');
    std::cout << 2 * n << "\n";
}
