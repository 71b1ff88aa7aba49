/* UCB1 and DP-UCB as a C programmer writes them: one step and one comparison of all arms at a time.

   The same lines as `index_steps` in tests/plain_loops/steps.py, with another generator. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define LEVELS 64

typedef struct {
    uint64_t s[4];
} Generator;

static uint64_t rotated(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

/* xoshiro256++ (Blackman and Vigna 2021). */
static uint64_t bits(Generator *rng) {
    uint64_t *s = rng->s, drawn = rotated(s[0] + s[3], 23) + s[0], shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotated(s[3], 45);
    return drawn;
}

/* Four numbers of splitmix64 (Steele, Lea and Flood 2014). */
static Generator seeded(uint64_t seed) {
    Generator rng;
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        rng.s[i] = z ^ (z >> 31);
    }
    return rng;
}

static double uniform(Generator *rng) { return (double)(bits(rng) >> 11) * 0x1.0p-53; }

static double laplace(double scale, Generator *rng) {
    double size = -scale * log1p(-uniform(rng));
    return bits(rng) >> 63 ? size : -size;
}

/* Pulls of each arm over the horizon; scale 0 is no noise. Returns 0, or 1 if there is no memory. */
int index_steps(const double *means, int64_t arms, int64_t horizon, double bonus, double scale, uint64_t seed,
                int64_t *pulls) {
    Generator rng = seeded(seed);
    double *sums = calloc((size_t)arms, sizeof(double)), *center = calloc((size_t)arms, sizeof(double));
    double *width = calloc((size_t)arms, sizeof(double));
    double(*noise)[LEVELS] = calloc((size_t)arms, sizeof(*noise)); /* of the latest sum whose lowest bit is that */
    int failed = !(sums && center && width && noise);
    for (int64_t arm = 0; arm < arms; arm++) pulls[arm] = 0;
    for (int64_t t = 1; t <= horizon && !failed; t++) {
        int64_t arm = t - 1;
        if (t > arms) {
            double radius = sqrt(2 * log((double)t));
            arm = 0;
            double largest = center[0] + width[0] * radius;
            for (int64_t rival = 1; rival < arms; rival++) {
                double index = center[rival] + width[rival] * radius;
                if (index > largest) {
                    largest = index;
                    arm = rival;
                }
            }
        }
        int64_t count = ++pulls[arm];
        sums[arm] += uniform(&rng) < means[arm] ? 1.0 : 0.0;
        double released = sums[arm] + bonus;
        if (scale > 0) {
            int64_t rest = count & (count - 1);
            double fresh = laplace(scale, &rng) + (rest ? noise[arm][__builtin_ctzll((uint64_t)rest)] : 0.0);
            noise[arm][__builtin_ctzll((uint64_t)count)] = fresh;
            released += fresh;
        }
        center[arm] = released / (double)count;
        width[arm] = 1 / sqrt((double)count);
    }
    free(sums);
    free(center);
    free(width);
    free(noise);
    return failed;
}
