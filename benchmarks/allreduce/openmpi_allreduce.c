/* Time OpenMPI's all-reduce as benchmarks/allreduce/rank.py does: REPEATS BYTES... -> one line "BYTES SECONDS" per size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return (d > 0) - (d < 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 2; i < argc; i++) {
        long bytes = atol(argv[i]);
        int count = bytes / sizeof(float), repeats = atoi(argv[1]);
        repeats = bytes <= 1 << 20 ? 4 * repeats : bytes >> 26 && repeats > 2 ? 2 : repeats;
        float *x = calloc(count, sizeof(float));
        double *seconds = calloc(repeats + 1, sizeof(double));
        for (int repeat = bytes >> 26 ? 1 : 0; repeat <= repeats; repeat++) { /* the first repeat of small sizes is a warm-up */
            MPI_Barrier(MPI_COMM_WORLD);
            double spent = -MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, x, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            spent += MPI_Wtime();
            MPI_Allreduce(&spent, &seconds[repeat], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
        qsort(seconds + 1, repeats, sizeof(double), ascending);
        if (rank == 0)
            printf("%ld %.9f\n", bytes, (seconds[(repeats + 1) / 2] + seconds[repeats / 2 + 1]) / 2);
        free(x);
        free(seconds);
    }
    MPI_Finalize();
    return 0;
}
