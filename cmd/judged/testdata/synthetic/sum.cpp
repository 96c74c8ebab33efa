#include <iostream>
#include <numeric>
#include <vector>

int main()
{
	std::cin.tie(nullptr)->sync_with_stdio(false);
	int n;
	std::cin >> n;
	std::vector<long long> numbers(n);
	for (auto &x : numbers)
		std::cin >> x;
	std::cout << std::accumulate(numbers.begin(), numbers.end(), 0LL) << '\n';
}
