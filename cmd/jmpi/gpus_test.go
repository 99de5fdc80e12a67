package main

import "testing"

func TestLinkText(t *testing.T) {
	link := func(from, to int32) string {
		if from/2 == to/2 {
			return "nvlink"
		}
		return "pcie"
	}
	want := `
to      0      1      2     
from 0  -      nvlink pcie  
from 1  nvlink -      pcie  
from 2  pcie   pcie   -     `
	if got := linkText(3, link); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := linkText(1, link); got != "" {
		t.Errorf("one GPU: %q", got)
	}
}
