#include <cstdio>

#include <ductile/ductile.hpp>

int main() { std::printf("a job's id takes %zu bytes\n", sizeof(ductile::JobId)); }
