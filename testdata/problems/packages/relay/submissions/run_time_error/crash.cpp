#include <iostream>
#include <stdexcept>
#include <string>

int main()
{
	std::string task;
	std::cin >> task;
	if (task == "read")
		throw std::runtime_error("second pass");
	std::cout << "ab\n";
}
