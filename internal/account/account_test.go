package account

import "testing"

// The account has no more than Max, and mapped calls count until then.
func TestEarn_Full(t *testing.T) {
	Set(0)
	if Affords(0) || !Affords(-1) {
		t.Error("an empty account affords something")
	}
	for range 3 {
		Earn(Max / 2)
	}
	if got := Balance(); got != Max || Counting() {
		t.Errorf("%d ns, counting: %v; want %d, and not counting", got, Counting(), Max)
	}
	if Spend(2 * Max); Balance() != -Max || !Counting() {
		t.Errorf("%d ns, counting: %v; want %d, and counting", Balance(), Counting(), -Max)
	}
	if Unbound(); !IsUnbound() {
		t.Error("the account has a limit")
	}
}

func TestPrice_Measure(t *testing.T) {
	t.Parallel()
	p := Price{First: 1000}
	for _, c := range []struct {
		took, n, counts, price int64
	}{
		{3000, 1, 3000, 1000},       // the first one counts, but it may have run code that is in no cache
		{1_000_000, 1, 6000, 3000},  // the second one has waited, so the price is that of the first
		{3000, 1, 3000, 3000},       // which tells nothing of the next one
		{80_000, 4, 80_000, 3000},   // 20,000 each,
		{20_000, 1, 20_000, 3751},   // so that was no waiting, and the price rises by no more than a quarter
		{1 << 40, 1, 40_000, 4689},  //
		{1 << 40, 1, Max / 2, 5862}, // no more than the account can pay
		{400, 1, 400, 4497},         // it falls by a quarter of the way
		{400, 1, 400, 3473},         //
		{400, 1, 400, 2705},         //
		{20_000, 4, 17_200, 2129},   // 5,000 each, of which 4,300 count
	} {
		if got := p.Measure(c.took, c.n); got != c.counts || p.Now() != c.price {
			t.Errorf("%+v: %d counts, and the price is %d", c, got, p.Now())
		}
	}
	for now := p.Now(); ; now = p.Now() {
		if p.Fall(); p.Now() == now {
			break
		}
	}
	if now := p.Now(); now > 1100 {
		t.Errorf("the price fell to %d only", now)
	}
}
