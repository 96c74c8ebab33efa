#include <iostream>

int main()
{
	long long n, x;
	if (!(std::cin >> n) || n < 1 || n > 1000000)
		return 43;
	while (n-- > 0)
		if (!(std::cin >> x) || x < 1 || x > 2000000000)
			return 43;
	return std::cin >> x ? 43 : 42;
}
