#include <iostream>
#include <string>

int main()
{
	std::string task;
	std::cin >> task;
	volatile bool again = task == "read";
	while (again)
		;
	std::cout << "ab\n";
}
