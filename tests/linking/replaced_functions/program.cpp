// A program that has troupe itself.
#include "ports.hpp"

int main() { try_ports(); }
