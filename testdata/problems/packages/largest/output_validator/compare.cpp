#include <fstream>
#include <iostream>
#include <string>

int main(int, char **argv) {
    std::ifstream answer(argv[2]);
    std::string wanted, word, more;
    answer >> wanted;
    return std::cin >> word && word == wanted && !(std::cin >> more) ? 42 : 43;
}
