#include <iostream>

int main()
{
	int n, x;
	unsigned sum = 0;
	std::cin >> n;
	for (int i = 0; i < n; i++) {
		std::cin >> x;
		sum += x;
	}
	std::cout << sum << '\n';
}
