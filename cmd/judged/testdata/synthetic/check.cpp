#include <fstream>
#include <iostream>

int main(int, char **argv)
{
	std::ifstream file(argv[2]);
	long long want, got;
	std::string rest;
	file >> want;
	return std::cin >> got && got == want && !(std::cin >> rest) ? 42 : 43;
}
