package pages

import (
	"math"
	"math/rand/v2"
	"testing"

	"go.dw1.io/mmapfile/internal/account"
)

// turn is a file that is used in turns with others, each for some calls, and how.
type turn struct {
	blocks, calls, life                           int // of the file, of a turn, and from one open to the next
	large, memory, zeros, far, cold, unknown, bad bool
	sizes                                         [2]int64 // of calls, one or the other
	writes                                        int      // of 100 calls
	pattern                                       int
	sync, evict                                   int     // after so many calls; 0 for never
	journal                                       float64 // what a write takes more, if it is not that of the host
	file                                          *simFile
	next                                          int64
}

func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func drawTurn(r *rand.Rand) *turn {
	size := func() int64 {
		return oneOf[int64](r, 8, 64, 512, 1000, 4<<10, 8<<10, 12_000, 16<<10, 20_000, 32<<10, 64<<10, 256<<10, 512<<10, 2<<20)
	}
	t := &turn{
		blocks: 1 << r.IntN(14), calls: 1 + int(math.Exp2(8*r.Float64())), life: oneOf(r, math.MaxInt, math.MaxInt, 20, 160, 640, 2_560, 10_240),
		large: r.IntN(2) == 0, memory: r.IntN(4) == 0, zeros: r.IntN(6) == 0, far: r.IntN(4) == 0, cold: r.IntN(6) == 0, unknown: r.IntN(8) == 0, bad: r.IntN(10) == 0,
		sizes: [2]int64{size(), size()}, writes: oneOf(r, 0, 0, 5, 30, 90, 100), pattern: r.IntN(4), sync: oneOf(r, 0, 0, 20, 320, 5_120),
	}
	if r.IntN(2) == 0 {
		t.sizes[1] = t.sizes[0]
	}
	if r.IntN(8) == 0 {
		t.evict = 3_200
	}
	return t
}

// call makes the call number i of the file.
func (t *turn) call(s *simulation, i int) {
	if i%t.life == 0 {
		if s.simFile = t.file; i > 0 {
			s.close()
		}
		s.open(int64(t.blocks)*BlockSize, t.large, t.memory, t.cold)
		s.zeros, s.far, s.unknown, s.refuses = t.zeros, t.far, t.unknown, t.bad
		t.file = s.simFile
	}
	s.simFile = t.file
	if t.journal > 0 {
		s.journal = t.journal
	}
	n := min(t.sizes[s.random.IntN(2)], s.size)
	last := s.size - n
	var off int64
	switch t.pattern {
	case 0: // in order
		if t.next > last {
			t.next = 0
		}
		off = t.next
		t.next += n
	case 1:
		off = s.random.Int64N(last + 1)
	case 2: // one place
		off = last / 2
	case 3: // mostly the same blocks
		off = int64(float64(last) * math.Pow(s.random.Float64(), 8))
	}
	if s.random.IntN(100) < t.writes {
		s.write(off, n)
	} else {
		s.read(off, n)
	}
	if t.sync > 0 && i%t.sync == t.sync-1 {
		s.sync()
	}
	if t.evict > 0 && i%t.evict == t.evict-1 {
		s.evict()
	}
}

// runTurns runs a program of up to four files, in calls that take so many nanoseconds with os.File, and returns it.
func runTurns(program, seed uint64, base float64) (*simulation, []*turn) {
	r, s := rand.New(rand.NewPCG(program, 0)), newSimulation(seed)
	s.pread, s.journal = oneOf[float64](r, 215, 300, 430, 1_000, 2_000), oneOf[float64](r, 0, 0, 1_500)
	var turns []*turn
	for range 1 + r.IntN(4) {
		turns = append(turns, drawTurn(r))
	}
	s.take(turns, base)
	return s, turns
}

// runOneSize is runTurns with calls of one size of a far file, of a hot one with large folios, and of others.
func runOneSize(program uint64, base float64) (*simulation, []*turn) {
	r, s := rand.New(rand.NewPCG(program, 5)), newSimulation(0)
	s.pread = oneOf[float64](r, 215, 300, 430, 1_000)
	size := oneOf[int64](r, 512, 8<<10, 12_000, 16<<10, 20_000, 32<<10, 64<<10, 256<<10, 512<<10)
	var turns []*turn
	for i := range 2 + r.IntN(3) {
		t := drawTurn(r)
		if i < 3 {
			t.sizes, t.calls, t.blocks = [2]int64{size, size}, 1+r.IntN(40), 16<<r.IntN(10)
			t.far, t.large, t.cold = i == 0, t.large || i == 1, false
			t.writes = oneOf(r, 0, 0, 0, 0, 5, 90)
		}
		turns = append(turns, t)
	}
	s.take(turns, base)
	return s, turns
}

// runUnlikeWrites is runTurns with writes that take a hundred times as long in one file as in another.
func runUnlikeWrites(program uint64, base float64) (*simulation, []*turn) {
	r, s := rand.New(rand.NewPCG(program, 6)), newSimulation(0)
	s.pread = oneOf[float64](r, 215, 300, 430, 1_000)
	var turns []*turn
	for i := range 2 + r.IntN(3) {
		t := drawTurn(r)
		t.writes, t.journal = oneOf(r, 30, 90, 100), 1
		if i == 0 {
			t.journal, t.sizes = oneOf[float64](r, 1_500, 8_000, 30_000), [2]int64{64, 64}
		} else {
			size := oneOf[int64](r, 1<<10, 4<<10, 8<<10, 32<<10, 64<<10)
			t.sizes, t.pattern, t.blocks, t.calls = [2]int64{size, size}, r.IntN(2), 64<<r.IntN(8), 1<<r.IntN(12)
		}
		turns = append(turns, t)
	}
	s.take(turns, base)
	return s, turns
}

// take runs the files in turns.
func (s *simulation) take(turns []*turn, base float64) {
	done := make([]int, len(turns))
	for s.base < base {
		for i, t := range turns {
			for range t.calls {
				t.call(s, done[i])
				done[i]++
			}
		}
	}
	for _, t := range turns {
		s.simFile = t.file
		s.close()
	}
}

// Unlike files in turns, in lives of any length.
func TestAccount_Turns(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	bases := map[uint64]float64{285: 5e6, 1693: 5e6} // short ones, on hosts with slow system calls
	for program := range uint64(programs(220)) {
		bases[program] = 20e6
	}
	for program, base := range bases {
		s, turns := runTurns(program, 0, base)
		checkTurns(t, program, s, turns)
	}
}

// The bytes of one file are in no cache of the processor, and copies of another one take longer than system calls: what
// a call takes in one of them says little of the other.
func TestAccount_FarFileBesideHot(t *testing.T) {
	checkPrograms(t, []uint64{1507, 2635, 3733, 3843}, runOneSize)
}

// Nor does what a write takes in one of them.
func TestAccount_DearWritesBesideCheap(t *testing.T) {
	checkPrograms(t, []uint64{137, 269, 295, 391}, runUnlikeWrites)
}

// checkPrograms checks the programs that have found a fault, and some more.
func checkPrograms(t *testing.T, found []uint64, run func(program uint64, base float64) (*simulation, []*turn)) {
	t.Helper()
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer account.Unbound()
	for program := range uint64(programs(80)) {
		if program < uint64(len(found)) {
			program = found[program]
		}
		s, turns := run(program, 60e6)
		checkTurns(t, program, s, turns)
	}
}

func checkTurns(t *testing.T, program uint64, s *simulation, turns []*turn) {
	t.Helper()
	if len(s.miscounted) > 0 {
		t.Errorf("program %d: system calls were counted, or not, too often: %d", program, s.miscounted)
	}
	if s.cost > s.allowed() {
		t.Errorf("program %d: %.0f ns, %.0f with os.File: %.0f more than allowed", program, s.cost, s.base, s.cost-s.allowed())
		for _, turn := range turns {
			t.Logf("  %+v", *turn)
		}
	}
}
