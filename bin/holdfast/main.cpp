// The executable `holdfast`: see bin/holdfast/arguments.hpp for what it takes.
#include "bin/holdfast/commands.hpp"

int main(int argc, char** argv) { return holdfast::cli::execute_line(argc, argv); }
