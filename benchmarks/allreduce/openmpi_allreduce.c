/* Time OpenMPI's all-reduce as benchmarks/allreduce/rank.py does: PLACE BYTES:REPEATS... -> one line "BYTES SECONDS..." per size.

The seconds are those of the slowest rank, call by call, the first call included. A wrong sum ends the program.
   PLACE is `in-place` or `separate`: han of OpenMPI 4.1.4 reads address 1 and beyond if the vectors are in place. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double timed_sum(void *from, float *x, int count, int rank, int world) {
    for (int i = 0; i < count; i++)
        (from == MPI_IN_PLACE ? x : (float *)from)[i] = rank + 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double spent = -MPI_Wtime(), slowest;
    MPI_Allreduce(from, x, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
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
    for (int i = 2; i < argc; i++) {
        long bytes;
        int repeats;
        if (sscanf(argv[i], "%ld:%d", &bytes, &repeats) != 2)
            MPI_Abort(MPI_COMM_WORLD, 2);
        float *x = malloc(bytes);
        void *from = strcmp(argv[1], "separate") ? MPI_IN_PLACE : malloc(bytes);
        if (rank == 0)
            printf("%ld", bytes);
        for (int repeat = 0; repeat < repeats; repeat++) {
            double spent = timed_sum(from, x, bytes / sizeof(float), rank, world);
            if (rank == 0)
                printf(" %.9f", spent);
        }
        if (rank == 0)
            printf("\n");
        free(x);
        if (from != MPI_IN_PLACE)
            free(from);
    }
    MPI_Finalize();
    return 0;
}
