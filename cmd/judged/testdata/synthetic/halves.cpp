#include <iostream>
#include <string>

int main()
{
	int low = 1, high = 1000;
	for (std::string answer; answer != "correct";) {
		int middle = (low + high) / 2;
		std::cout << middle << std::endl;
		if (!(std::cin >> answer))
			return 1;
		if (answer == "lower")
			high = middle - 1;
		else
			low = middle + 1;
	}
}
