#include <cstdio>

#include "scheduling/core.hpp"

int main() { std::printf("a job's id takes %zu bytes\n", sizeof(ductile::JobId)); }
