/*
 * Go's runtime takes its random numbers from ProcessPrng of bcryptprimitives.dll,
 * which wine 8 lacks. This is that function, over the older one of advapi32
 * (RtlGenRandom, exported as SystemFunction036), which takes lengths of 32 bits.
 */
#include <stddef.h>

__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buf, unsigned long len);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buf, size_t len)
{
	while (len > 0) {
		unsigned long n = len > 0x10000000 ? 0x10000000 : (unsigned long)len;

		if (!SystemFunction036(buf, n))
			return 0;
		buf += n;
		len -= n;
	}
	return 1;
}
