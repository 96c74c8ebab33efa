#include <cstdio>
#include <iostream>

int main()
{
	if (!freopen("totals.in", "r", stdin) || !freopen("totals.out", "w", stdout))
		return 1;
	int n, x, sum = 0;
	for (std::cin >> n; n-- && std::cin >> x;)
		sum += x;
	std::cout << sum << '\n';
}
