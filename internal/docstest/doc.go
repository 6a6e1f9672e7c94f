// Package docstest tests what stands in the repository's pages: snippets, links, names of tests
// and targets and the language.
//
// It is a package of its own because it lists the root directory. The go command forgets a
// cached result if any entry there has changed, and every git command changes .git.
package docstest
