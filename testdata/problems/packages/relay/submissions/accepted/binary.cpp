#include <bitset>
#include <iostream>
#include <string>

int main()
{
	std::string task, word;
	std::cin >> task >> word;
	if (task == "write")
		std::cout << std::bitset<30>(std::stoul(word)).to_string('a', 'b') << '\n';
	else
		std::cout << std::bitset<30>(word, 0, std::string::npos, 'a', 'b').to_ulong() << '\n';
}
