//! Cycles in a graph.

/// Returns the strongly connected components of more than one node. `edges` lists the successors of each node.
///
/// By Tarjan's algorithm ("Depth-first search and linear graph algorithms", 1972).
pub(super) fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        edges,
        order: vec![None; edges.len()],
        lowest: vec![0; edges.len()],
        open: Vec::new(),
        next: 0,
        components: Vec::new(),
    };
    for node in 0..edges.len() {
        if search.order[node].is_none() {
            search.visit(node);
        }
    }
    search.components.retain(|members| members.len() > 1);
    search.components
}

struct Search<'a> {
    edges: &'a [Vec<usize>],
    /// Index at which each node was first visited.
    order: Vec<Option<usize>>,
    /// Earliest open node reachable from each node.
    lowest: Vec<usize>,
    /// Nodes that are not yet in a component.
    open: Vec<usize>,
    next: usize,
    components: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Visits a node. The recursion is as deep as the crate has modules.
    fn visit(&mut self, node: usize) {
        let order = self.next;
        self.next += 1;
        self.order[node] = Some(order);
        self.lowest[node] = order;
        self.open.push(node);
        for &to in &self.edges[node] {
            match self.order[to] {
                None => {
                    self.visit(to);
                    self.lowest[node] = self.lowest[node].min(self.lowest[to]);
                }
                Some(seen) if self.open.contains(&to) => {
                    self.lowest[node] = self.lowest[node].min(seen);
                }
                Some(_) => {}
            }
        }
        if self.lowest[node] == order {
            let from = self.open.iter().position(|&open| open == node);
            let members = self.open.split_off(from.unwrap_or_default());
            self.components.push(members);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_itself_is_a_cycle() {
        // 0 → 1 → 2 → 0, 2 → 3 → 4 ⇄ 5, and 6 alone with itself.
        let edges = [
            vec![1],
            vec![2],
            vec![0, 3],
            vec![4],
            vec![5],
            vec![4],
            vec![6],
        ];
        let mut found = components(&edges);
        for members in &mut found {
            members.sort_unstable();
        }
        found.sort();
        assert_eq!(found, [vec![0, 1, 2], vec![4, 5]]);
    }

    #[test]
    fn a_tree_has_none() {
        let edges = [vec![1, 2], vec![3], vec![3], vec![]];
        assert!(components(&edges).is_empty());
    }
}
