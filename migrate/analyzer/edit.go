package analyzer

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// edits returns the changes that give a group the type *mmapfile.File, imports
// included.
func (c *checker) edits(group *slot) []analysis.TextEdit {
	var edits []analysis.TextEdit
	for _, s := range c.files {
		if idents := c.idents(group, s); len(idents) > 0 {
			edits = append(edits, c.editsOf(s, idents, c.valuesOf(group))...)
		}
	}
	return edits
}

// idents returns each "os" that a group changes in a file.
func (c *checker) idents(group *slot, in *source) []*ast.Ident {
	set := map[*ast.Ident]bool{}
	for _, s := range group.sites {
		set[s.pkg] = true
	}
	for _, v := range group.vars {
		if d := c.decls[v]; d != nil && d.pkg != nil {
			set[d.pkg] = true
		}
	}
	var idents []*ast.Ident
	for id := range set {
		if c.sourceAt(id.Pos()) == in {
			idents = append(idents, id)
		}
	}
	slices.SortFunc(idents, func(a, b *ast.Ident) int { return int(a.Pos() - b.Pos()) })
	return idents
}

// options returns the composite literal that mmapfile.OpenFile needs as a value, since the
// function itself has an optional parameter.
func (s *site) options() string {
	if s.call == nil && s.fn.Name() == "OpenFile" {
		return ".Options{}"
	}
	return ""
}

// valuesOf returns what follows the package's name in the sites that are values.
func (c *checker) valuesOf(group *slot) map[*ast.Ident]*site {
	values := map[*ast.Ident]*site{}
	for _, s := range group.sites {
		values[s.pkg] = s
	}
	return values
}

func (c *checker) editsOf(s *source, idents []*ast.Ident, values map[*ast.Ident]*site) []analysis.TextEdit {
	var at []token.Pos
	for _, id := range idents {
		at = append(at, id.Pos())
	}
	name, imported := c.importName(s, mmapfilePath, "mmapfile", at)
	var edits []analysis.TextEdit
	for _, id := range idents {
		text := name
		if site := values[id]; site != nil && site.options() != "" {
			text += site.options()
			if c.inHeader(id) {
				text = "(" + text + ")" // the brace would begin the block
			}
		}
		edits = append(edits, analysis.TextEdit{Pos: id.Pos(), End: id.End(), NewText: []byte(text)})
	}
	if imported {
		return edits
	}
	spec := strconv.Quote(mmapfilePath)
	if name != "mmapfile" {
		spec = name + " " + spec
	}
	return append(edits, addImport(s, spec))
}

// inHeader reports whether id is in a statement before its block.
func (c *checker) inHeader(id *ast.Ident) bool {
	cur, _ := c.root.FindNode(id)
	for stmt := range cur.Enclosing((*ast.BlockStmt)(nil), (*ast.IfStmt)(nil), (*ast.ForStmt)(nil), (*ast.RangeStmt)(nil), (*ast.SwitchStmt)(nil), (*ast.TypeSwitchStmt)(nil)) {
		_, block := stmt.Node().(*ast.BlockStmt)
		return !block
	}
	return false
}

// addImport adds an import to the first declaration, among those of other modules. The driver removes
// imports that are no longer used.
func addImport(s *source, add string) analysis.TextEdit {
	i := slices.IndexFunc(s.file.Decls, func(d ast.Decl) bool { g, ok := d.(*ast.GenDecl); return ok && g.Tok == token.IMPORT })
	decl := s.file.Decls[i].(*ast.GenDecl) // a file that names os imports it
	if !decl.Lparen.IsValid() {
		return analysis.TextEdit{Pos: decl.End(), End: decl.End(), NewText: []byte("\nimport " + add)}
	}
	var last ast.Spec
	for _, spec := range decl.Specs {
		path, _ := strconv.Unquote(spec.(*ast.ImportSpec).Path.Value)
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
			continue
		}
		if path > mmapfilePath && last == nil {
			return analysis.TextEdit{Pos: start(spec), End: start(spec), NewText: []byte(add + "\n\t")}
		}
		if path < mmapfilePath {
			last = spec
		}
	}
	if last != nil {
		return analysis.TextEdit{Pos: end(last), End: end(last), NewText: []byte("\n\t" + add)}
	}
	at := end(decl.Specs[len(decl.Specs)-1])
	return analysis.TextEdit{Pos: at, End: at, NewText: []byte("\n\n\t" + add)}
}

// start and end of an import include its comments.
func start(spec ast.Spec) token.Pos {
	if doc := spec.(*ast.ImportSpec).Doc; doc != nil {
		return doc.Pos()
	}
	return spec.Pos()
}

func end(spec ast.Spec) token.Pos {
	if comment := spec.(*ast.ImportSpec).Comment; comment != nil {
		return comment.End()
	}
	return spec.End()
}

// importName returns the name under which a file has imported the package of
// path, or can import it. The name means that package at all of the positions.
func (c *checker) importName(s *source, path, name string, at []token.Pos) (string, bool) {
	for _, spec := range s.file.Imports {
		if spec.Path.Value != fmt.Sprintf("%q", path) {
			continue
		}
		obj := c.TypesInfo.PkgNameOf(spec)
		if !slices.ContainsFunc(at, func(pos token.Pos) bool { return c.lookup(obj.Name(), pos) != types.Object(obj) }) {
			return obj.Name(), true
		}
	}
	for i := 2; !c.free(s, name); i++ {
		name = fmt.Sprintf("%s%d", strings.TrimRight(name, "0123456789"), i)
	}
	return name, false
}

// free reports whether a file can import a package under name.
func (c *checker) free(s *source, name string) bool {
	if _, ok := c.outside.names[name]; ok || c.Pkg.Scope().Lookup(name) != nil {
		return false
	}
	free := true
	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			free = false
		}
		return free
	})
	return free
}

func (c *checker) lookup(name string, pos token.Pos) types.Object {
	_, obj := c.Pkg.Scope().Innermost(pos).LookupParent(name, pos)
	return obj
}
