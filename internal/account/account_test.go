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
		{3000, 1, 3000, 1251},       // the first one counts, and the price rises by no more than a quarter
		{1_000_000, 1, 6000, 1564},  // it has waited
		{3000, 1, 3000, 1923},       // which tells nothing of the next one
		{80_000, 4, 80_000, 2192},   // 20,000 each,
		{20_000, 1, 20_000, 2741},   // so that was no waiting
		{1 << 40, 1, 40_000, 3427},  //
		{1 << 40, 1, Max / 2, 4284}, // no more than the account can pay
		{400, 1, 400, 3313},         // it falls by a quarter of the way
		{400, 1, 400, 2585},         //
		{400, 1, 400, 2039},         //
		{20_000, 4, 17_200, 1630},   // 5,000 each, of which 4,300 count
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
