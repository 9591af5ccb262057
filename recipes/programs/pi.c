/* Estimate pi with MPI: each rank integrates its share of 4 / (1 + x^2) from 0 to 1, with ever more intervals.

       mpicc -O2 pi.c -o pi && mpirun -n 4 ./pi 10
*/
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double integrate(long intervals, int rank, int world) {
  double width = 1.0 / (double)intervals, sum = 0.0;
  for (long i = rank; i < intervals; i += world) {
    double x = ((double)i + 0.5) * width;
    sum += 4.0 / (1.0 + x * x);
  }
  return sum * width;
}

int main(int count, char **words) {
  int rank, world, length, steps = count > 1 ? atoi(words[1]) : 10;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  MPI_Get_processor_name(host, &length);
  printf("rank %d of %d on %s\n", rank, world, host);
  for (int step = 1; step <= steps; step++) {
    double part = integrate(10L << step, rank, world), pi = 0.0;
    MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      printf("step %d error %.3e\n", step, fabs(pi - acos(-1.0)));
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
