/* Time OpenMPI's all-reduce as benchmarks/allreduce/rank.py does: BYTES:REPEATS... -> one line "BYTES SECONDS..." per size.

The seconds are those of the slowest rank, call by call, the first call included. A wrong sum ends the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double timed_sum(float *x, int count, int rank, int world) {
    for (int i = 0; i < count; i++)
        x[i] = rank + 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double spent = -MPI_Wtime(), slowest;
    MPI_Allreduce(MPI_IN_PLACE, x, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    spent += MPI_Wtime();
    for (int i = 0; i < count; i++)
        if (x[i] != world * (world + 1) / 2) {
            fprintf(stderr, "wrong sum: element %d is %g\n", i, x[i]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    MPI_Allreduce(&spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, world;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    for (int i = 1; i < argc; i++) {
        long bytes;
        int repeats;
        if (sscanf(argv[i], "%ld:%d", &bytes, &repeats) != 2)
            MPI_Abort(MPI_COMM_WORLD, 2);
        float *x = malloc(bytes);
        if (rank == 0)
            printf("%ld", bytes);
        for (int repeat = 0; repeat < repeats; repeat++) {
            double spent = timed_sum(x, bytes / sizeof(float), rank, world);
            if (rank == 0)
                printf(" %.9f", spent);
        }
        if (rank == 0)
            printf("\n");
        free(x);
    }
    MPI_Finalize();
    return 0;
}
