// It leaves the number in files instead of letters.
#include <fstream>
#include <iostream>
#include <string>

int main()
{
	std::string task, word, number = "7";
	std::cin >> task >> word;
	for (std::string name : {"number", "/tmp/number", "/dev/shm/number", "/var/tmp/number"}) {
		if (task == "write")
			std::ofstream(name) << word;
		else
			std::ifstream(name) >> number;
	}
	std::cout << (task == "write" ? "a" : number) << '\n';
}
