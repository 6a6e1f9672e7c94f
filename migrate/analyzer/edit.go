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
	changed := map[*ast.Ident]bool{}
	for _, id := range idents {
		at = append(at, id.Pos())
		changed[id] = true
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
	spec := strconv.Quote(mmapfilePath)
	if name != "mmapfile" {
		spec = name + " " + spec
	}
	if imported {
		spec = ""
	}
	return append(edits, c.imports(s, c.unusedAfter(s, changed), spec)...)
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

// unusedAfter returns the import of os if all its uses are in changed.
func (c *checker) unusedAfter(s *source, changed map[*ast.Ident]bool) *ast.ImportSpec {
	var name types.Object
	for id := range changed {
		name = c.TypesInfo.Uses[id]
	}
	used := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && c.TypesInfo.Uses[id] == name && !changed[id] {
			used = true
		}
		return !used
	})
	if used {
		return nil
	}
	for _, spec := range s.file.Imports {
		if types.Object(c.TypesInfo.PkgNameOf(spec)) == name {
			return spec
		}
	}
	return nil
}

// imports removes one import and adds another; either may be absent.
func (c *checker) imports(s *source, old *ast.ImportSpec, add string) []analysis.TextEdit {
	decl := importDecl(s, old)
	if old == nil && add == "" {
		return nil
	}
	i := slices.Index(decl.Specs, ast.Spec(old))
	commented := old != nil && (old.Doc != nil || old.Comment != nil)
	switch {
	case old == nil:
		return []analysis.TextEdit{c.addImport(decl, add, nil)}
	case add != "" && (commented || len(decl.Specs) == 1):
		return []analysis.TextEdit{{Pos: old.Pos(), End: old.End(), NewText: []byte(add)}}
	case len(decl.Specs) == 1:
		return []analysis.TextEdit{{Pos: decl.Pos(), End: decl.End()}}
	}
	var edits []analysis.TextEdit
	if i == 0 {
		edits = append(edits, analysis.TextEdit{Pos: old.Pos(), End: start(decl.Specs[1])})
	} else {
		edits = append(edits, analysis.TextEdit{Pos: end(decl.Specs[i-1]), End: end(old)})
	}
	if add != "" {
		edits = append(edits, c.addImport(decl, add, old))
	}
	return edits
}

// importDecl returns the declaration that has the import old, or else the first.
func importDecl(s *source, old *ast.ImportSpec) *ast.GenDecl {
	for _, d := range s.file.Decls {
		d, ok := d.(*ast.GenDecl)
		if ok && d.Tok == token.IMPORT && (old == nil || slices.Contains(d.Specs, ast.Spec(old))) {
			return d
		}
	}
	return nil
}

// addImport adds an import to a declaration, among those of other modules.
func (c *checker) addImport(decl *ast.GenDecl, add string, without *ast.ImportSpec) analysis.TextEdit {
	if !decl.Lparen.IsValid() {
		return analysis.TextEdit{Pos: decl.End(), End: decl.End(), NewText: []byte("\nimport " + add)}
	}
	var last ast.Spec
	for _, spec := range decl.Specs {
		path, _ := strconv.Unquote(spec.(*ast.ImportSpec).Path.Value)
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") || spec == ast.Spec(without) {
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
