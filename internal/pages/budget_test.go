package pages

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/race"
)

// simulation runs calls of a File and prices what they do, for the File and for os.File. It does
// what the root package does with what Pages decides.
type simulation struct {
	cost, base float64
	calls      int
	random     *rand.Rand
	pread      float64 // what a small read or write by system call takes on this host
	// the open file
	p        *Pages
	size     int64
	large    bool // folios
	memory   bool // a tmpfs: holes must not be mapped
	zeros    bool // all of it is zeros, which prove nothing
	mapped   bool
	faulted  map[int64]int64 // blocks that the mapping shows, up to the length that the file had then
	resident map[int64]bool  // blocks in memory; nil for all
	writes   Writes
	period   bool // of mapped writes
	told     bool // that the file is read in order
	waits    bool // the next fault that is measured seems to take longer: the processor was taken away
	leaves   uint64
}

func newSimulation(seed uint64) *simulation {
	budget.Store(budgetStart)
	for _, v := range []*atomic.Int64{&blockFault, &measuredCall, &looks, &unmapping} {
		v.Store(0)
	}
	return &simulation{random: rand.New(rand.NewPCG(seed, 0)), pread: preadPrice}
}

func (s *simulation) both(ns float64) { s.cost += ns; s.base += ns }

func (s *simulation) open(size int64, large, memory, cold bool) {
	s.p, s.size, s.large, s.memory, s.mapped, s.told, s.zeros, s.leaves = new(Pages), size, large, memory, false, false, false, 0
	s.faulted, s.resident, s.writes, s.period = map[int64]int64{}, nil, Writes{}, false
	if cold {
		s.resident = map[int64]bool{}
	}
	s.both(openPrice)
}

func (s *simulation) close() {
	if s.mapped {
		s.cost += revokePrice
		s.p.Unmapped(revokePrice)
	}
}

func (s *simulation) faultPrice() float64 {
	if s.large {
		return largeFault
	}
	return smallFault
}

// fault maps the blocks of n bytes at off.
func (s *simulation) fault(off, n int64) (took float64) {
	for block := off >> BlockBits; block<<BlockBits < off+n; block++ {
		if shown := s.faulted[block]; shown == 0 {
			took += s.faultPrice()
		} else if min(off+n, (block+1)<<BlockBits) > shown {
			took += pageFault
		} else {
			continue
		}
		s.faulted[block] = s.size
	}
	s.cost += took
	return took
}

// load waits for the disk, with either.
func (s *simulation) load(off, n int64) {
	for block := off >> BlockBits; s.resident != nil && block<<BlockBits < off+n; block++ {
		if !s.resident[block] {
			s.resident[block] = true
			s.both(diskPrice)
		}
	}
}

func (s *simulation) inMemory(off, end int64) bool {
	s.cost += cachestat
	for block := off >> BlockBits; s.resident != nil && block<<BlockBits < end; block++ {
		if !s.resident[block] {
			return false
		}
	}
	s.cost += nowait
	return true
}

func (s *simulation) mapNow() {
	if s.memory {
		s.p.Confirm()
	}
	const price = fstatPrice + fstatfsPrice + rlimitPrice + mmapPrice + regionPrice
	s.cost += price
	s.mapped = true
	s.p.Mapped(true, price)
}

func (s *simulation) follow(next Next) {
	if t := s.p.table.Load(); t != nil {
		if s.cost += noteOverhead; s.p.state.Load()&recorded != 0 {
			s.cost += notePrice
		}
		if s.leaves == 0 && t.grown > 0 {
			s.cost += tablePrice
		}
		s.cost += leafPrice * float64(t.grown-s.leaves)
		s.leaves = t.grown
	}
	if next.Look {
		s.cost += lookPrice
		if MeasuresCall() {
			s.cost += 3 * s.pread
			SetCall(time.Duration(s.pread))
		}
	}
	if next.Credit > 0 && !s.mapped && s.p.Credit(next.Credit) {
		s.mapNow()
	}
}

func (s *simulation) read(off, n int64) {
	bytes := float64(n) * perKiB / 1024
	s.calls++
	s.base += s.pread + bytes
	page := (off + n + PageSize - 1) &^ (PageSize - 1) // the next one
	if s.mapped && s.p.Ready(off, int(n)) {
		s.cost += hitPrice + bytes
		s.fault(off, n)
		if !s.zeros {
			return
		}
		if page < s.size && s.p.Proves(page) {
			s.fault(page, 1)
			return
		}
	}
	s.load(off, n)
	s.cost += s.pread + bytes
	if !(s.mapped && (s.p.MayRead(off, int(n)) || s.p.Joins(off, int(n)))) && s.p.Early(int(n)) {
		s.cost += earlyOverhead
		return
	}
	next := s.p.Read(off, n, false) // a read that ends where the file does is not short
	s.follow(next)
	if next.Reread && s.mapped {
		s.readNextPage(page, off, n)
	}
	if next.Joined {
		s.cost += joinedCost
		s.p.SetJoined(joinedCost + int64(s.fault(off+n-1, 1)))
	}
	if next.Due && s.mapped {
		exists, measure := s.p.Buy(off, n)
		if exists {
			s.cost += cachestat
			from := off &^ (BlockSize - 1)
			s.p.Note(Ready, from, min((off+n+BlockSize-1)&^(BlockSize-1), s.size)-from)
		}
		if measure >= 0 {
			took := s.fault(measure, 1)
			if s.waits {
				s.waits, took = false, faultMax
			}
			s.p.SetFault(int64(took), 1)
		}
	}
	switch {
	case next.Broken && s.told:
		s.cost += fadvisePrice
		s.told = false
	case next.Ask:
		s.lookAhead(off+n, n)
	}
}

func (s *simulation) readNextPage(page, off, n int64) {
	ok, measure := false, false
	if page < s.size && !s.p.Proves(page) {
		ok, measure = s.p.BuyProof(page, n)
	}
	if ok {
		s.load(page, 1)
		s.cost += s.pread
		s.p.Note(Ready, page, 1)
		if measure {
			s.p.SetFault(int64(s.fault(page, 1)), 1)
		}
	} else {
		s.p.Unproven(off, n, page >= s.size)
	}
}

func (s *simulation) lookAhead(off, n int64) {
	ask, far := s.p.Plan(off, n, s.size, s.mapped)
	end, again := Ahead(off, far)
	s.p.Asked(again)
	if end = min(end, s.size); end <= off || !ask {
		return
	}
	switch in := s.inMemory(off, end); {
	case !in:
		s.cost += fadvisePrice
		s.told = true
		s.p.Asked(math.MaxInt64)
	case !far:
		s.p.Asked(end)
		if !s.mapped {
			s.mapNow()
		}
		if blocks := s.p.BuyAhead(off, end); blocks > 0 {
			s.p.SetFault(int64(s.fault(off, end-off)), blocks)
		}
	}
}

func (s *simulation) write(off, n int64) {
	bytes := float64(n) * perKiB / 1024
	s.calls++
	s.base += s.pread + bytes
	if s.mapped {
		prefaulted, _ := s.p.PrefaultedBefore(off+n, off, int(n))
		if !prefaulted && s.p.Prefaults(off, int(n)) {
			from, blocks := off>>BlockBits<<BlockBits, (off+n-1)>>BlockBits-off>>BlockBits+1
			took := float64(blocks) * smallPrefault
			if s.large {
				took = float64(blocks) * largePrefault
			}
			s.cost += took
			s.p.SetPrice(blocks<<BlockBits, time.Duration(took))
			s.p.NotePrefaulted(from, blocks<<BlockBits)
			for block := range blocks {
				s.faulted[from>>BlockBits+block] = s.size
			}
			prefaulted = true
		}
		switch {
		case prefaulted && !s.period:
			if s.writes.BeginsPeriod() {
				s.period = true
				s.cost += periodCost
			}
		case prefaulted:
			s.cost += storePrice + bytes
			if s.writes.Count() {
				s.p.Timed(&s.writes, int(n), storePrice)
			}
			return
		}
	}
	s.load(off, n)
	s.cost += s.pread + bytes
	if !s.mapped && s.p.Early(int(n)) {
		s.cost += earlyOverhead
		return
	}
	next, stat := s.p.Write(off, n, s.size)
	if stat {
		s.cost += fstatPrice
	}
	s.follow(next)
}

func (s *simulation) sync() {
	s.both(syncPrice)
	s.p.Synced(0, math.MaxInt64)
	s.p.Judge(s.writes.Take)
	s.period = false
}

// lifeBytes is the number of bytes that describe a life, repeated some times.
const lifeBytes = 8

// run runs the program that the bytes describe.
func (s *simulation) run(program []byte) {
	const callsMax = 60_000
	if len(program) >= lifeBytes && program[6]&16 != 0 { // a host with fast system calls
		s.pread = preadPrice / 2
	}
	for calls := 0; len(program) >= lifeBytes && calls < callsMax; program = program[lifeBytes:] {
		b := program[:lifeBytes]
		size := int64(512) << (b[0] % 18) // to 64 MiB
		life := int(math.Exp2(float64(b[1]) / 19))
		n := min(int64(math.Exp2(float64(b[2])/16)), size) // to 64 KiB
		pattern, repeat := b[3]%6, 1+int(b[4])
		writes, sync := [8]int{0, 0, 0, 0, 5, 40, 90, 100}[b[5]%8], [4]int{0, 0, 20, 300}[b[5]/8%4]
		large, memory, cold := b[6]&1 != 0, b[6]&2 != 0, b[6]&12 == 12
		step := BlockSize >> (b[7] % 5)
		for ; repeat > 0 && calls < callsMax; repeat-- {
			s.open(size, large, memory, cold)
			s.zeros = b[6]&192 == 192
			var next int64
			for i := range life {
				var off int64
				switch last := size - n; pattern {
				case 0: // in order
					if next > last {
						next = 0
					}
					off, next = next, next+n
				case 1:
					off = s.random.Int64N(last + 1)
				case 2: // one place
					off = last / 2
				case 3: // laps
					if off = next; next > last {
						off = 0
					}
					next = off + int64(step)
				case 4: // few blocks
					off = min(int64(s.random.IntN(1+int(b[7])))*BlockSize, last)
				case 5: // mostly the same blocks
					off = int64(float64(last) * math.Pow(s.random.Float64(), 1+float64(b[7])/16))
				}
				if s.random.IntN(100) < writes {
					s.write(off, n)
				} else {
					s.read(off, n)
				}
				if sync > 0 && i%sync == sync-1 {
					s.sync()
				}
				if calls++; calls >= callsMax {
					break
				}
			}
			s.close()
		}
	}
}

// allowed is what the package promises.
func (s *simulation) allowed() float64 {
	return s.base*(1+lossShare) + float64(s.calls)*lossCall + lossStart
}

// The package comment states this bound.
const (
	lossShare = 1.0 / 32
	lossCall  = 20
	lossStart = budgetStart + mapNeeds
)

func simulate(program []byte) *simulation {
	s := newSimulation(uint64(len(program)))
	s.run(program)
	return s
}

func randomProgram(r *rand.Rand) []byte {
	program := make([]byte, lifeBytes*(1+r.IntN(12)))
	for i := range program {
		program[i] = byte(r.IntN(256))
	}
	return program
}

func mutate(r *rand.Rand, program []byte) []byte {
	program = append([]byte(nil), program...)
	switch r.IntN(4) {
	case 0: // a life twice, or a new one
		at := r.IntN(len(program)/lifeBytes) * lifeBytes
		program = append(program, program[at:at+lifeBytes]...)
	case 1:
		if len(program) > lifeBytes {
			at := r.IntN(len(program)/lifeBytes) * lifeBytes
			program = append(program[:at], program[at+lifeBytes:]...)
		}
	default:
		for range 1 + r.IntN(2) {
			at := r.IntN(len(program))
			if r.IntN(2) == 0 {
				program[at] = byte(r.IntN(256))
			} else {
				program[at] += byte(r.IntN(9) - 4)
			}
		}
	}
	return program
}

// TestMain gives the tests of the rest a budget that they do not exhaust.
func TestMain(m *testing.M) {
	Unbound()
	m.Run()
}

// programs is n, or fewer under the race detector, which finds nothing in one goroutine.
func programs(n int) int {
	if race.Detector {
		return n / 6
	}
	return n
}

func checkBound(t *testing.T, program []byte) {
	t.Helper()
	defer Unbound()
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	if s := simulate(program); s.cost > s.allowed() {
		t.Errorf("%v: %.0f ns, %.0f with os.File: %.0f more than allowed", program, s.cost, s.base, s.cost-s.allowed())
	}
}

func TestBudget_RandomPrograms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range programs(300) {
		checkBound(t, randomProgram(r))
	}
}

// The adversary changes programs for as long as that makes them lose more.
func TestBudget_Adversary(t *testing.T) {
	defer Unbound()
	for seed := range uint64(programs(6)) {
		r := rand.New(rand.NewPCG(seed, 1))
		program, most := randomProgram(r), math.Inf(-1)
		for range 200 {
			next := mutate(r, program)
			if s := simulate(next); s.base > 0 && s.cost-s.allowed() > most {
				program, most = next, s.cost-s.allowed()
			}
		}
		checkBound(t, program)
		s := simulate(program)
		t.Logf("seed %d: %.3f of os.File in %.1f ms; %.0f µs more than allowed",
			seed, s.cost/s.base, s.base/1e6, most/1e3)
	}
}

func FuzzBudget(f *testing.F) {
	f.Add([]byte{17, 160, 96, 3, 3, 0, 0, 0}) // laps of one read a block
	f.Add([]byte{12, 123, 96, 2, 255, 0, 0, 0})
	f.Add([]byte{55, 55, 255, 35, 0, 113, 168, 124, 250, 225, 247, 243, 228, 0, 0, 127})
	f.Add([]byte{232, 241, 0, 3, 17, 160, 96, 241})
	f.Add([]byte{88, 253, 48, 49, 0, 134, 64, 9})
	f.Add([]byte{50, 234, 48, 49, 0, 134, 128, 9})
	f.Add([]byte{48, 255, 48, 49, 48, 30, 21, 13})    // on a host with fast system calls
	f.Add([]byte{48, 103, 48, 48, 1, 48, 48, 48})     // mapped by reading ahead, shortly before Close
	f.Add([]byte{49, 251, 255, 48, 48, 39, 48, 48})   // long writes of one lap after the other, on a host with fast system calls
	f.Add([]byte{88, 225, 206, 48, 48, 36, 66, 48})   // reads in order that are predicted with a price that is too low
	f.Add([]byte{17, 255, 96, 3, 3, 0, 192, 0})       // laps over zeros
	f.Add([]byte{90, 252, 48, 48, 48, 36, 252, 48})   // a page of zeros that is read ahead again and again
	f.Add([]byte{55, 127, 48, 48, 48, 48, 232, 48})   // and is never reread
	f.Add([]byte{48, 184, 48, 57, 65, 48, 216, 49})   // a proof in a block that is not paid for
	f.Add([]byte{48, 186, 186, 48, 67, 56, 193, 48})  // reads that end in zeros, and find no proof without another read
	f.Add([]byte{50, 255, 255, 88, 48, 48, 241, 211}) // nor the budget for that
	f.Add([]byte{149, 203, 225, 228, 195, 9, 254, 186})
	f.Add([]byte{55, 120, 48, 48, 47, 0, 141, 123, 123, 252, 233, 252, 252, 252, 26, 33})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 40*lifeBytes {
			t.Skip()
		}
		checkBound(t, program)
	})
}

// A file that cannot be measured does not spend the turn of those after it.
func TestMeasuresCall_UntilMeasured(t *testing.T) {
	defer Unbound()
	newSimulation(1)
	for range 3 {
		if !MeasuresCall() {
			t.Error("nothing was measured, and is not to be")
		}
	}
	SetCall(300)
	n := 0
	for range 2 * measureEvery {
		if MeasuresCall() {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d measurements in %d looks", n, 2*measureEvery)
	}
}

// Without a budget for a mapping, a file is mapped by many calls of its own, and by no fewer.
func TestCredit_WithoutBudget(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer Unbound()
	var poor, rich Pages
	poor.begin()
	budget.Store(mapNeeds - 1)
	for credit := mapFrom; credit < mapOwn; credit += mapFrom {
		if poor.Credit(mapFrom) {
			t.Fatalf("%d calls map the file", credit)
		}
	}
	if !poor.Credit(mapFrom) {
		t.Errorf("%d calls do not map the file", mapOwn)
	}
	rich.begin()
	budget.Store(mapNeeds)
	if rich.Credit(mapFrom-1) || !rich.Credit(1) {
		t.Errorf("with a budget, it is not mapped by %d calls", mapFrom)
	}
}

// A fault that has waited for a processor is not what the next ones take: the next measured one replaces it.
func TestSetFault_ReplacesOneThatWaited(t *testing.T) {
	defer Unbound()
	newSimulation(1)
	var p Pages
	p.SetFault(faultMax, 1)
	if p.SetFault(700, 1); p.begin().faultOf() != 700 {
		t.Errorf("%d ns", p.begin().faultOf())
	}
	if p.SetFault(1100, 1); p.begin().faultOf() != 800 {
		t.Errorf("%d ns, and not a fourth nearer", p.begin().faultOf())
	}
}

// A proof in a block without ready pages has a fault, which is paid and measured. Below zero none is bought.
func TestBuyProof_PaysForTheFault(t *testing.T) {
	defer Unbound()
	newSimulation(1)
	var p Pages
	p.Note(Ready, 0, PageSize)
	for page, fault := range map[int64]bool{PageSize: false, BlockSize: true} {
		price := 2*callNow() + vain(64)
		if fault {
			price += p.begin().faultOf()
		}
		budget.Store(0)
		if ok, measure := p.BuyProof(page, 64); !ok || measure != fault || budget.Load() != -price {
			t.Errorf("page %d: %v, %v, %d left, want %v, %d", page/PageSize, ok, measure, budget.Load(), fault, -price)
		}
		if ok, _ := p.BuyProof(page, 64); ok {
			t.Errorf("page %d: bought below zero", page/PageSize)
		}
	}
}

// What asking costs is kept for when the fault can be paid as well: asking alone would spend all that comes in.
func TestBuy_AsksForWhatItCanBuy(t *testing.T) {
	defer Unbound()
	const off = 20 * BlockSize
	var p Pages
	readUntilRecorded(&p)
	p.Confirm()
	for range 4 * readyFrom {
		p.Read(off, 64, false)
	}
	p.begin().bought.Store(mapBlocks) // the first ones are bought in any case
	needed := askPrice + p.begin().faultOf()
	budget.Store(needed - 1)
	if exists, _ := p.Buy(off, 64); exists || budget.Load() != needed-1 {
		t.Errorf("Buy asks: %v; %d are left of %d", exists, budget.Load(), needed-1)
	}
	budget.Store(needed)
	if exists, _ := p.Buy(off, 64); !exists || budget.Load() != 0 {
		t.Errorf("Buy asks: %v; %d are left of %d", exists, budget.Load(), needed)
	}
}

// What the end of a mapping takes is paid in full up to mapMax, whatever other ones have taken meanwhile.
func TestUnmapped_PaysWhatItTakes(t *testing.T) {
	defer Unbound()
	newSimulation(1)
	budget.Store(0)
	var took time.Duration
	for _, end := range []time.Duration{mapMax, 5_000, mapMax - 5_000} {
		mapped := make([]Pages, 50)
		for i := range mapped {
			mapped[i].Mapped(true, 0)
		}
		for i := range mapped {
			mapped[i].Unmapped(end)
			took += end
		}
	}
	var asked Pages // by a caller, with blocks that calls have bought
	asked.begin().pay(1)
	budget.Add(asked.begin().faultOf())
	if asked.Unmapped(20_000); budget.Load() != -int64(took) {
		t.Errorf("%d was paid for what took %d", -budget.Load(), took)
	}
}

// What a long life gains stays, for one after the other.
func TestBudget_Gains(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer Unbound()
	for _, c := range []struct {
		what                string
		life, blocks, lives int
		large               bool
		limit               float64
	}{
		{"200 reads of one block", 200, 1, 50, false, 0.60},
		{"400 reads of one block", 400, 1, 50, false, 0.35},
		{"1,000 reads of one block", 1000, 1, 50, false, 0.20},
		{"1,000 reads of 4 blocks", 1000, 4, 20, false, 0.50},
		{"16 blocks, 64 reads each", 16 * 64, 16, 20, false, 0.50},
		{"1,024 blocks, 64 reads each, large folios", 1024 * 64, 1024, 1, true, 0.50},
		{"1,024 blocks, 200 reads each", 1024 * 200, 1024, 1, false, 0.50},
		{"1,024 blocks, 64 reads each", 1024 * 64, 1024, 1, false, 0.80},
		{"1,024 blocks, 20 reads each, large folios", 1024 * 20, 1024, 1, true, 0.80},
	} {
		s := newSimulation(1)
		for range c.lives {
			s.open(int64(c.blocks)*BlockSize, c.large, false, false)
			for range c.life {
				s.read(int64(s.random.IntN(c.blocks))*BlockSize+100, 64)
			}
			s.close()
		}
		t.Logf("%s: %.2f", c.what, s.cost/s.base)
		if s.cost > c.limit*s.base {
			t.Errorf("%s: %.2f of os.File, want at most %.2f", c.what, s.cost/s.base, c.limit)
		}
	}
}

// Reads and writes of one long life, at random in 64 MiB. They have few calls for each block, so
// what is learned with little budget decides.
func TestBudget_GainsAtRandom(t *testing.T) {
	if Eager {
		t.Skip("the eager policy maps at once")
	}
	defer Unbound()
	for _, c := range []struct {
		calls  int
		pread  float64
		large  bool
		writes bool
		limit  float64
	}{
		{100_000, 250, true, false, 0.50},
		{100_000, 430, true, false, 0.40},
		{200_000, 250, false, false, 0.65},
		{100_000, 430, false, false, 0.80},
		{100_000, 250, true, true, 0.40},
		{100_000, 430, true, true, 0.25},
	} {
		s := newSimulation(1)
		s.pread = c.pread
		s.open(1024*BlockSize, c.large, false, false)
		for range c.calls {
			if off := s.random.Int64N(s.size - 64); c.writes {
				s.write(off, 64)
			} else {
				s.read(off, 64)
			}
		}
		s.close()
		t.Logf("%+v: %.2f", c, s.cost/s.base)
		if s.cost > c.limit*s.base {
			t.Errorf("%+v: %.2f of os.File", c, s.cost/s.base)
		}
	}
}

// Without a budget, each call that is recorded stands for those that were not.
func TestRead_StandsForOthers(t *testing.T) {
	if Eager {
		t.Skip("the eager policy records all calls")
	}
	defer Unbound()
	rereads := func(budgetNow int64) (recordedCalls, counted uint64) {
		const settled = LookEvery * watchOne
		var p Pages
		readUntilRecorded(&p)
		for i := range settled * 5 {
			budget.Store(budgetNow)
			if next := p.Read(0, 64, false); next.Credit > 0 && i >= settled {
				recordedCalls++
				counted += next.Credit
			}
		}
		return recordedCalls, counted
	}
	all, counted := rereads(1 << 60)
	if all != counted || all != LookEvery*watchOne*4 {
		t.Errorf("with a budget %d calls are recorded, and count as %d", all, counted)
	}
	some, counted := rereads(0)
	if some != all/watchOne || counted != all {
		t.Errorf("without a budget %d calls are recorded, and count as %d", some, counted)
	}
}

// A page of a block that has ready pages is ready once it was read, recorded or not.
func TestRead_JoinsReadyPages(t *testing.T) {
	var p Pages
	readUntilRecorded(&p)
	if p.Read(PageSize, 64, false); p.Joins(PageSize, 64) || p.MayRead(PageSize, 64) {
		t.Error("a page is ready before its block was bought")
	}
	p.Note(Ready, 0, PageSize)
	p.state.Store(p.state.Load() &^ recorded)
	for page := range int64(16) {
		off := page*PageSize + 100
		if page > 0 && (p.MayRead(off, 64) || !p.Joins(off, 64)) {
			t.Errorf("page %d: %v, %v before it is read", page, p.MayRead(off, 64), p.Joins(off, 64))
		}
		if next := p.Read(off, 64, false); next.Reread && page > 0 {
			t.Errorf("page %d was not ready before", page)
		}
		if !p.MayRead(off, 64) || p.Joins(off, 64) {
			t.Errorf("page %d: %v, %v after", page, p.MayRead(off, 64), p.Joins(off, 64))
		}
	}
	if p.Read(BlockSize, 64, false); p.MayRead(BlockSize, 64) || p.Joins(BlockSize-32, 64) {
		t.Error("the next block joins")
	}
	p.Note(Ready, 2*BlockSize, PageSize)
	budget.Store(-1)
	if p.Joins(2*BlockSize+PageSize, 64) {
		t.Error("a page joins, and the budget could not pay for its fault")
	}
	Unbound()
	p.Confirm()
	p.Note(Ready, 4*BlockSize, PageSize)
	if p.Read(4*BlockSize+PageSize, 64, false); p.MayRead(4*BlockSize+PageSize, 64) {
		t.Error("what may be a hole is ready")
	}
}

// A page that was added to a file after the fault of its block is a fault of its own once it has
// joined the block. The budget pays for these, too.
func TestSetJoined_FileGrows(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer Unbound()
	for _, reads := range []int{2, 3} {
		s := newSimulation(1)
		s.open(PageSize, true, false, false)
		for range 20_000 {
			for range reads {
				s.read(s.size-PageSize+100, 64)
			}
			s.size += PageSize
			s.both(s.pread)
			s.calls++
		}
		t.Logf("%d reads of each page: %.2f of os.File", reads, s.cost/s.base)
		if s.cost > s.allowed() {
			t.Errorf("%d reads of each page: %.0f ns, %.0f with os.File: %.0f more than allowed",
				reads, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// Pages that join and are no faults cost nothing, so the budget is left for blocks.
func TestSetJoined_NoFaults(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no budget")
	}
	defer Unbound()
	budget.Store(1000)
	var p Pages
	for i := range int64(1000) {
		if took := int64(60); i%20 == 0 { // the first load of a block
			p.SetJoined(took + faultPrice)
		} else {
			p.SetJoined(took)
		}
	}
	if left := budget.Load(); left != 1000 {
		t.Errorf("%d are left of 1000", left)
	}
}

// Where zeros prove nothing, the page that does is in the next block. Its fault is paid as well, so
// reads that end in zeros do not go from block to block for nothing.
func TestBuyProof_BlockAfterBlock(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer Unbound()
	for _, large := range []bool{false, true} {
		s := newSimulation(1)
		s.open(4096*BlockSize, large, false, false)
		s.zeros = true
		for range 300 {
			s.read(BlockSize-200, 64)
		}
		for block := range int64(4000) {
			for range 3 {
				s.read((block+1)*BlockSize-200, 64)
			}
		}
		s.close()
		t.Logf("%.2f of os.File", s.cost/s.base)
		if s.cost > s.allowed() {
			t.Errorf("large folios %v: %.0f ns, %.0f with os.File: %.0f more than allowed", large, s.cost, s.base, s.cost-s.allowed())
		}
	}
}

// One measured fault that has waited for a processor does not stop a file from buying blocks.
func TestSetFault_OneHasWaited(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no budget")
	}
	defer Unbound()
	for _, blocks := range []int{16, 64} {
		run := func(waits bool) float64 {
			s := newSimulation(1)
			s.waits = waits
			s.open(int64(blocks)*BlockSize, true, false, false)
			for range blocks * 100 {
				s.read(int64(s.random.IntN(blocks))*BlockSize+100, 64)
			}
			s.close()
			return s.cost / s.base
		}
		usual, waited := run(false), run(true)
		t.Logf("%d blocks: %.2f of os.File, and %.2f after one that has waited", blocks, usual, waited)
		if waited > usual+0.05 {
			t.Errorf("%d blocks: %.2f of os.File, and %.2f after one that has waited", blocks, usual, waited)
		}
	}
}

// A program that asks for the state of a file after each write ends each period at once. What
// that costs is bounded, too, and leaves the budget for other files.
func TestBeginsPeriod_EndsAtOnce(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no bound")
	}
	defer Unbound()
	s := newSimulation(1)
	s.open(2*BlockSize, true, false, false)
	for range 20_000 {
		s.write(100, 64)
	}
	if !s.period {
		t.Fatal("no write is mapped after many")
	}
	for range 50_000 {
		s.write(100, 64)
		s.period = false
	}
	if s.cost > s.allowed() || budget.Load() < -periodPrice {
		t.Errorf("%.0f ns, %.0f with os.File: %.0f more than allowed; %d are left",
			s.cost, s.base, s.cost-s.allowed(), budget.Load())
	}
}

// Without a budget at first, blocks are prefaulted late between two Syncs. Their writes then do not pay
// for them, which is no reason to prefault later still.
func TestJudge_WaitedForTheBudget(t *testing.T) {
	if Eager {
		t.Skip("the eager policy has no budget")
	}
	defer Unbound()
	for prefault, limit := range map[uint32]float64{
		0:      0.5,
		40_000: 0.85, // one has waited for a processor, so it is believed to take more than is saved up for a mapping
	} {
		s := newSimulation(1)
		s.pread = 250
		s.open(16*BlockSize, true, false, false)
		for range 20 {
			if budget.Store(0); s.mapped && prefault > 0 {
				s.p.begin().price.Store(prefault)
			}
			for range 5000 {
				s.write(s.random.Int64N(s.size-64), 64)
			}
			s.sync()
		}
		cost, base := s.cost, s.base
		for range 40 {
			for range 5000 {
				s.write(s.random.Int64N(s.size-64), 64)
			}
			s.sync()
		}
		ratio := (s.cost - cost) / (s.base - base)
		t.Logf("%.2f of os.File, at first %.2f", ratio, cost/base)
		if ratio > limit {
			t.Errorf("%.2f of os.File, at first %.2f", ratio, cost/base)
		}
	}
}

// A timed write comes after every so many, however often Sync counts them. So what they save
// is earned.
func TestTake_KeepsTheNextTimedWrite(t *testing.T) {
	var w Writes
	timed, taken := 0, int64(0)
	for range 8 * TimeEvery {
		if w.Count() {
			timed++
		}
		if w.n%10 == 0 {
			taken += w.Take()
		}
	}
	if taken += w.Take(); timed != 8 || taken != 8*TimeEvery {
		t.Errorf("%d timed and %d counted writes", timed, taken)
	}
}
